import { passGates } from '../gates/pass-gates.ts';
import { createScope } from '../scope/scope.ts';
import { serveStatements } from './thread-server.ts';

/** The module that a gate thread runs. */

// Passes a statement once, so that code is compiled before the first statement of a tenant.
passGates(
  'with q as (select 1 as a) select a, count(*) from q group by a',
  createScope({ tables: [], readOnly: true, defaultSchema: 'public' }),
);
serveStatements(passGates);
