// Prints the simulation of docs/scale.md: node scripts/scale.mjs [seed]. npm run docs:generate writes its tables with the seed of the page.
import { answersTable, shardsTable } from './scale/tables.mjs';

const seed = Number(process.argv[2] ?? 1);
if (!Number.isInteger(seed)) throw new Error(`the seed must be a whole number, not ${process.argv[2]}`);
console.log(`seed ${seed}\n\n${answersTable(seed)}\n\n${shardsTable(seed)}`);
