import { keyVersionIndex, migration } from '@agent-service/store';
import { sealedColumns } from '../sealed-columns.ts';

export const sealedColumnsMigration = migration('0002-sealed-places', ...sealedColumns.map(keyVersionIndex));
