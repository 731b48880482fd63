import { afterAll } from '@jest/globals';
import { createStatementGate } from '../../src/threads/statement-gate.ts';

const statementGate = createStatementGate();
afterAll(() => statementGate.close());

/** The statement gate of a test file, with its own threads. */
export const gate = statementGate.of('test');
