/**
 * Why an answer's work ends before its time: nobody wants it any more, its lease is another's, its deadline has passed, or
 * this process stops.
 */
export type Interruption = 'unwanted' | 'lost' | 'deadline' | 'stopping';

/** The reason of the signal that ends the work. */
export class Interrupted extends Error {
  override name = 'Interrupted';
  readonly why: Interruption;

  constructor(why: Interruption) {
    super(`the answer was interrupted: ${why}`);
    this.why = why;
  }
}
