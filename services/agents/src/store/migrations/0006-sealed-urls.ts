import { keyVersionIndex, migration } from '@agent-service/store';
import { sealedUrls } from '../../data-sources/store/data-sources.ts';

export const sealedUrlsMigration = migration('0006-sealed-urls', keyVersionIndex(sealedUrls));
