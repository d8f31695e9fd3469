"""The drafter of method.md section 7 in PyTorch: its layers, loss, matching of slots and optimiser, from their description, so that the
training in TypeScript has a second implementation to agree with and to be timed beside."""

import torch
from torch.nn.functional import cosine_similarity, cross_entropy


class Drafter(torch.nn.Module):
    """Layers, named as in the project's safetensors files, whose weights are [in x out]. forward: slots before unit length, count logits."""

    def __init__(self, weights, slots, residual=True, dropout=0.0):
        super().__init__()
        names = sorted(name[: -len(".weight")] for name in weights if name.endswith(".weight"))
        self.layers = torch.nn.ModuleDict()
        for name in names:
            weight = weights[f"{name}.weight"]
            layer = torch.nn.Linear(*weight.shape, dtype=weight.dtype)
            with torch.no_grad():
                layer.weight.copy_(weight.T)
                layer.bias.copy_(weights[f"{name}.bias"])
            self.layers[name.replace(".", "_")] = layer
        self.slots, self.residual, self.dropout = slots, residual, torch.nn.Dropout(dropout)

    def forward(self, questions):
        *hidden, out = self.layers.values()
        state = questions
        for layer in hidden:
            state = self.dropout(torch.relu(layer(state)))
        state = out(state)
        width = self.slots * questions.shape[1]
        slots = state[:, :width].reshape(len(questions), self.slots, -1)
        return slots + questions[:, None] if self.residual else slots, state[:, width:]

    def named_tensors(self, of):
        """What `of` gives for each parameter, by the name and in the layout that the weights came in."""
        for name, layer in self.layers.items():
            yield f"{name.replace('_', '.')}.weight", of(layer.weight).T
            yield f"{name.replace('_', '.')}.bias", of(layer.bias)


def optimiser_of(drafter, learning_rate, weight_decay):
    """AdamW whose decay spares the biases; without decay that is Adam."""
    decayed = [one for one in drafter.parameters() if one.dim() > 1]
    spared = [one for one in drafter.parameters() if one.dim() == 1]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": spared, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=learning_rate)


def step(drafter, optimiser, batch, count_weight, matching="order"):
    """One step on {questions, claims, mask, counts}; gives the loss before it as a tensor."""
    slots, logits = drafter(batch["questions"])
    claims = matched(drafter, batch) if matching == "hungarian" else batch["claims"]
    distance = 1 - cosine_similarity(slots, claims, dim=-1)
    loss = (distance * batch["mask"]).sum() / batch["mask"].sum() + count_weight * cross_entropy(logits, batch["counts"])
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    return loss.detach()


def matched(drafter, batch):
    """Each question's claims in the order of the slots that they fit best, by what the drafter says without dropout."""
    from scipy.optimize import linear_sum_assignment

    claims = batch["claims"].clone()
    training = drafter.training
    drafter.eval()
    with torch.no_grad():
        slots, _ = drafter(batch["questions"])
    drafter.train(training)
    for at, n in enumerate(batch["mask"].sum(dim=1).int().tolist()):
        cosines = cosine_similarity(slots[at, :n, None], batch["claims"][at, None, :n], dim=-1)
        _, order = linear_sum_assignment(cosines.numpy(), maximize=True)
        claims[at, :n] = batch["claims"][at, order]
    return claims


def batch_of(tensors, rows, dtype=torch.float32):
    batch = {name: tensors[name][rows].to(dtype) for name in ("questions", "claims", "mask")}
    return batch | {"counts": tensors["counts"][rows].long()}
