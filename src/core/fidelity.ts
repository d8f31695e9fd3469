/**
 * How faithful a baseline is to what was published (method.md §9), as every manifest says it: exact, or approximate with a note of what
 * differs.
 */
export interface Fidelity {
  fidelity: 'exact' | 'approximate';
  fidelity_note: string;
}
