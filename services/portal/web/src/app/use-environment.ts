import { useParams } from '@tanstack/react-router';
import type { Environment } from '../api/client.ts';

export const environmentOf = (text: string | undefined): Environment => (text === 'test' ? 'test' : 'live');

/** The environment in the URL of the page. */
export const useEnvironment = (): Environment => environmentOf(useParams({ strict: false }).environment);
