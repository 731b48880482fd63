import type { Scenario } from '../scenario.ts';
import { authenticatedGet } from './authenticated-get.ts';
import { creditsHot } from './credits-hot.ts';
import { creditsUsage } from './credits-usage.ts';

/** Every scenario of `npm run bench`. */
export const scenarios: readonly Scenario[] = [authenticatedGet, creditsHot, creditsUsage];
