/** The options of the long form of generated runs. */
const number = (name: string, fallback: number): number => {
  const value = process.env[name];
  return value ? Number(value) : fallback;
};

/** The number of generated statements, and their seed. */
export const attackStatements = number('ATTACK_STATEMENTS', 3_000);
export const attackSeed = number('ATTACK_SEED', Date.now() % 2 ** 31);
