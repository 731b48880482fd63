/** How many logical databases the tests' Redis has: one for each file that asks. Number 0 holds the count of those given away. */
export const redisDatabases = 2048;
