import { afterAll } from '@jest/globals';
import { createStatementGate } from '../../src/threads/statement-gate.ts';

const statementGate = createStatementGate();
afterAll(() => statementGate.close());

/** A gate with threads of its own for a test file. */
export const gate = statementGate.of('test');
