import { jsonReply } from '../http/reply.ts';
import type { Page } from './page.ts';

/** The process answers at all. */
export const livez: Page = { path: '/livez', answer: () => jsonReply(200, { status: 'alive' }) };
