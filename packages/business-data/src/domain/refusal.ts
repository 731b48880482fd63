/** Why a statement does not run; the message is for whoever wrote it and names nothing outside the scope. */
export class Refusal extends Error {
  override name = 'Refusal';
}
