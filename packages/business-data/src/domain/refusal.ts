/** The reason why a statement does not run. The model reads the message, which names nothing outside the scope. */
export class Refusal extends Error {
  override name = 'Refusal';
}
