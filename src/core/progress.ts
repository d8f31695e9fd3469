/** Called by long work now and then. `total` is null where it is not known beforehand. */
export type OnProgress = (done: number, total: number | null) => void;
