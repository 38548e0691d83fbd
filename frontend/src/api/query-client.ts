import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { ApiError } from './api-error.ts'

type Listener = () => void
let sessionEnded: Listener = () => undefined

/** Says what to do when the service no longer knows the session. */
export function onSessionEnded(listener: Listener): void {
  sessionEnded = listener
}

function noteError(error: unknown): void {
  if (error instanceof ApiError && error.status === 401) sessionEnded()
}

/** All answers of the service that the page holds. */
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

/** A refusal stays one however often it is asked; what failed on the way may not. */
function isWorthRetrying(error: unknown): boolean {
  return !(error instanceof ApiError) || error.status === 0 || error.status >= 502
}
