import { QueryClient } from '@tanstack/react-query';
import { setOnSessionEnd, setRenewSession } from './client.ts';
import { ApiError } from './errors.ts';
import { sessionKey, sessionQuery, storeUnsentOfUser } from './session.ts';

const mayPass = (cause: Error) => !(cause instanceof ApiError) || cause.status === 0 || cause.status >= 500;

export const queryClient: QueryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (count, cause) => count < 1 && mayPass(cause),
      retryDelay: 500,
      refetchOnWindowFocus: true,
      // Without a network a query fails, which the page says, instead of waiting without a word.
      networkMode: 'always',
      refetchOnReconnect: true,
    },
    mutations: { networkMode: 'always' },
  },
});

setRenewSession(() => queryClient.fetchQuery({ ...sessionQuery, staleTime: 0 }));

// A session that ended leads to the sign-in page, whichever request notices it.
setOnSessionEnd(() => {
  if (!queryClient.getQueryData(sessionKey)) return;
  try {
    storeUnsentOfUser();
  } finally {
    // Also where the storage of the browser is full.
    queryClient.setQueryData(sessionKey, null);
  }
});
