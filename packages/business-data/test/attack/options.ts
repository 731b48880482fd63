/** The long form of a generated run; read nowhere else in these tests. */
const number = (name: string, fallback: number): number => {
  const value = process.env[name];
  return value ? Number(value) : fallback;
};

/** How many statements are generated, and from which seed. */
export const attackStatements = number('ATTACK_STATEMENTS', 10_000);
export const attackSeed = number('ATTACK_SEED', Date.now() % 2 ** 31);
