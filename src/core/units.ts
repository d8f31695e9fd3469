declare const unit: unique symbol;
type Unit<Name extends string> = number & { readonly [unit]?: Name };

/** Natural logarithm of a probability, at most 0. */
export type LogProb = Unit<'LogProb'>;
/** Cosine similarity of two unit vectors, in [−1, 1]. */
export type Cosine = Unit<'Cosine'>;
/** 1 − cosine, in [0, 2], rounded to 1e-6 (see `roundMargin`). */
export type Margin = Unit<'Margin'>;

/** The margin when there is no evidence at all (method.md §5). */
export const NO_EVIDENCE_MARGIN: Margin = 2;

/** Margins are compared only after this rounding, so that another machine's last bits never move a decision (method.md §5). */
export function roundMargin(value: number): Margin {
  return Math.round(value * 1e6) / 1e6;
}
