"""Answers a JSON list of [name, arguments] on stdin with scipy's and statsmodels' values, as a JSON list on stdout."""

import json
import sys

import numpy as np
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import ztost


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
    "holm": holm,
    "auroc": auroc,
    "tost": tost,
    "bootstrap_mean": bootstrap_mean,
}

print(json.dumps([ANSWERS[name](*arguments) for name, arguments in json.load(sys.stdin)]))
