// Writes the generated pages of the documentation: npm run docs:generate. With --check it changes nothing, and says what is stale or wrong in any document.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { findFaults } from './docs/faults.mjs';
import { generatedPages } from './docs/reference.mjs';

const isCheck = process.argv.includes('--check');

const stale = [];
for (const [path, write] of Object.entries(generatedPages)) {
  const present = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const text = write(present);
  if (text === present) continue;
  stale.push(path);
  if (!isCheck) writeFileSync(path, text);
}
if (isCheck) {
  const { faults, notes } = findFaults();
  const findings = [...stale.map((path) => `${path} is stale: npm run docs:generate`), ...faults];
  for (const finding of findings) console.log(finding);
  console.log(`${notes.join('; ')}; ${findings.length} findings`);
  process.exitCode = findings.length > 0 ? 1 : 0;
} else console.log(stale.length > 0 ? `wrote ${stale.join(', ')}` : 'nothing to write');
