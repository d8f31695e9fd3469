"""Answers a JSON list of [name, arguments] on stdin with scipy's and statsmodels' values, as a JSON list on stdout."""

import json
import sys

import numpy as np
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import NormalIndPower, normal_power
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import ztest, ztost


def tost(differences, margin):
    p, (_, lower, *_), (_, upper, *_) = ztost(np.array(differences), -margin, margin)
    return [float(p), float(lower), float(upper)]


def auroc(scores, positive):
    scores, positive = np.array(scores), np.array(positive, dtype=bool)
    u = stats.mannwhitneyu(scores[positive], scores[~positive], method="asymptotic").statistic
    return float(u / (positive.sum() * (~positive).sum()))


def holm(p_values):
    rejected, adjusted, *_ = multipletests(p_values, alpha=0.05, method="holm")
    return [adjusted.tolist(), rejected.tolist()]


def newcombe(n, both_right, only_a, only_b, level):
    """Newcombe's paired interval from the answers themselves: statsmodels' Wilson ends, numpy's correlation of the two columns."""
    a = np.repeat([1, 1, 0, 0], [both_right, only_a, only_b, n - both_right - only_a - only_b])
    b = np.repeat([1, 0, 1, 0], [both_right, only_a, only_b, n - both_right - only_a - only_b])
    constant = a.min() == a.max() or b.min() == b.max()
    phi = 0.0 if constant else float(np.corrcoef(a, b)[0, 1])
    (low_a, high_a), (low_b, high_b) = (proportion_confint(int(x.sum()), n, alpha=1 - level, method="wilson") for x in (a, b))
    d, p_a, p_b = float(a.mean() - b.mean()), float(a.mean()), float(b.mean())
    below = np.array([p_a - low_a, high_b - p_b])
    above = np.array([high_a - p_a, p_b - low_b])
    joint = np.array([[1, -phi], [-phi, 1]])
    return [d, d - float(np.sqrt(below @ joint @ below)), d + float(np.sqrt(above @ joint @ above))]


def z_test(differences, bound, alternative):
    z, p = ztest(np.array(differences), value=bound, alternative=alternative)
    return [float(z), float(p)]


def mcnemar_power(n, only_a, only_b, level):
    """Every table of discordant counts with its probability, tested one by one."""
    total = 0.0
    for a in range(n + 1):
        for b in range(n + 1 - a):
            if a + b and stats.binomtest(a, a + b, 0.5).pvalue <= level:
                total += stats.multinomial.pmf([a, b, n - a - b], n, [only_a, only_b, 1 - only_a - only_b])
    return float(total)


def questions(effect, deviation, level, power, alternative):
    # ratio 0: one sample, which is what paired differences are.
    return float(NormalIndPower().solve_power(effect / deviation, None, level, power, 0, alternative))


def walk(agreeing, n, bar, delta):
    """Learn-then-Test: position of the last step before the first whose exact p exceeds delta."""
    p = stats.binom.sf(np.array(agreeing) - 1, n, bar)
    failed = np.nonzero(p > delta)[0]
    return int(failed[0]) - 1 if len(failed) else len(p) - 1


def selection(agreeing, n, bar, delta):
    p = stats.binom.sf(np.array(agreeing) - 1, n, bar)
    return [p.tolist(), multipletests(p, alpha=delta, method="bonferroni")[0].tolist()]


def effect(system, reference):
    system, reference = np.array(system), np.array(reference)
    differences = system - reference
    mean = differences.mean()
    return [float(mean), float(mean / reference.mean()), float(stats.ttest_rel(system, reference).statistic / np.sqrt(len(system)))]


def bootstrap_mean(values, level):
    result = stats.bootstrap(
        (np.array(values),), np.mean, n_resamples=20_000, confidence_level=level, method="percentile", rng=np.random.default_rng(13)
    )
    return [result.confidence_interval.low, result.confidence_interval.high, result.standard_error]


ANSWERS = {
    "normal_cdf": lambda z: float(stats.norm.cdf(z)),
    "normal_quantile": lambda p: float(stats.norm.ppf(p)),
    "log_at_most": lambda k, n, p: float(stats.binom.logcdf(k, n, p)),
    "log_at_least": lambda k, n, p: float(stats.binom.logsf(k - 1, n, p)),
    "at_most": lambda k, n, p: float(stats.binom.cdf(k, n, p)),
    "at_least": lambda k, n, p: float(stats.binom.sf(k - 1, n, p)),
    "wilson": lambda count, n: [float(x) for x in proportion_confint(count, n, alpha=0.05, method="wilson")],
    "mcnemar": lambda only_a, only_b: float(mcnemar([[0, only_a], [only_b, 0]], exact=True).pvalue),
    "newcombe": newcombe,
    "binomial_test": lambda k, n, p, alternative: float(stats.binomtest(k, n, p, alternative=alternative).pvalue),
    "clopper_pearson": lambda k, n, level: [float(x) for x in proportion_confint(k, n, alpha=1 - level, method="beta")],
    "z_test": z_test,
    "normal_power": lambda effect, n, level, alternative, sigma: float(normal_power(effect, n, level, alternative, sigma)),
    "questions": questions,
    "mcnemar_power": mcnemar_power,
    "walk": walk,
    "selection": selection,
    "effect": effect,
    "holm": holm,
    "auroc": auroc,
    "tost": tost,
    "bootstrap_mean": bootstrap_mean,
}

print(json.dumps([ANSWERS[name](*arguments) for name, arguments in json.load(sys.stdin)]))
