import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { ApiError } from './api-error.ts'

type Listener = () => void
let sessionEnded: Listener = () => undefined

/** Sets what happens when the session has expired. */
export function onSessionEnded(listener: Listener): void {
  sessionEnded = listener
}

function noteError(error: unknown): void {
  if (error instanceof ApiError && error.status === 401) sessionEnded()
}

/** The cache of responses of the service. */
export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: noteError }),
  mutationCache: new MutationCache({ onError: noteError }),
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      retry: (failures, error) => failures < 2 && isWorthRetrying(error),
      retryDelay: (failures) => Math.min(500 * 2 ** failures, 5000),
    },
    mutations: { retry: false },
  },
})

/** Refused requests are not retried; failed connections are. */
function isWorthRetrying(error: unknown): boolean {
  return !(error instanceof ApiError) || error.status === 0 || error.status >= 502
}
