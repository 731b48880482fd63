import type { AnswerOptions } from '../models.ts';

const betweenSteps = '\n\n';

/** The text of an answer as it grows over the steps, and as a reader of its deltas sees it: both are always the same. */
export interface Transcript {
  readonly text: string;
  /** A call of the model begins; what the one before it left unfinished is void. */
  begin(): void;
  add(text: string): void;
  /** The step is done, its text stays. */
  keep(text: string): void;
}

export function createTranscript({ onDelta, onRestart }: Pick<AnswerOptions, 'onDelta' | 'onRestart'>): Transcript {
  let kept = '';
  let current = '';

  const lead = () => (kept !== '' && current === '' ? betweenSteps : '');

  return {
    get text() {
      return kept;
    },
    begin() {
      if (current === '') return;
      current = '';
      onRestart();
      if (kept !== '') onDelta(kept);
    },
    add(text) {
      const delta = lead() + text;
      current += delta;
      onDelta(delta);
    },
    keep(text) {
      if (text === '') return;
      kept += current === '' ? lead() + text : current;
      current = '';
    },
  };
}
