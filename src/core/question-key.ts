/** A question as it is told apart within a run: ids repeat in public files, rows do not. */
export interface QuestionKey {
  question_id: string;
  row: number;
}

/** As one text, for the keys of maps. */
export function questionKey({ row, question_id }: QuestionKey): string {
  return `${row}/${question_id}`;
}
