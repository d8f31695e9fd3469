"""Weights of a logistic regression on standardised features, bias first, for [rows, targets, l2] on stdin: statsmodels' where l2 is 0, else scipy's minimum."""

import json
import sys

import numpy as np
import statsmodels.api as sm
from scipy.optimize import minimize
from scipy.special import expit

rows, targets, l2 = json.load(sys.stdin)
x, y = np.array(rows, dtype=float), np.array(targets, dtype=float)
x = sm.add_constant((x - x.mean(axis=0)) / x.std(axis=0), has_constant="add")
if l2 == 0:
    weights = sm.Logit(y, x).fit(method="newton", tol=1e-14, disp=0).params
else:
    penalty = np.full(x.shape[1], l2)
    penalty[0] = 0
    z = lambda w: x @ w
    loss = lambda w: np.logaddexp(0, z(w)).sum() - y @ z(w) + 0.5 * penalty @ w**2
    slope = lambda w: x.T @ (expit(z(w)) - y) + penalty * w
    curve = lambda w: (x.T * (expit(z(w)) * expit(-z(w)))) @ x + np.diag(penalty)
    weights = minimize(loss, np.zeros(x.shape[1]), jac=slope, hess=curve, method="trust-exact", options={"gtol": 1e-11}).x
print(json.dumps(np.asarray(weights).tolist()))
