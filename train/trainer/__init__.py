"""Trains, merges and exports hopgate's verifier from a job folder (`python -m trainer run --job JOB --out EXPORT`)."""
