import { QueryClient } from '@tanstack/react-query';
import { setOnSessionEnd } from './client.ts';
import { ApiError } from './errors.ts';
import { sessionKey } from './session.ts';

const mayPass = (cause: Error) => !(cause instanceof ApiError) || cause.status === 0 || cause.status >= 500;

export const queryClient: QueryClient = new QueryClient({
  defaultOptions: {
    queries: { staleTime: 10_000, retry: (count, cause) => count < 1 && mayPass(cause), retryDelay: 500, refetchOnWindowFocus: true },
  },
});

// A session that ended leads to the sign-in page, whichever request notices it.
setOnSessionEnd(() => {
  if (queryClient.getQueryData(sessionKey)) queryClient.setQueryData(sessionKey, null);
});
