import { notifications } from '@mantine/notifications'
import { useMutation, type UseMutationResult } from '@tanstack/react-query'
import { type Outdated, refresh } from './refresh.ts'

interface ActionOptions<Given, Answer> {
  /** Sends the change. */
  readonly send: (given: Given) => Promise<Answer>
  /** What is read again afterwards, also when the change was refused: somebody else may have changed it. */
  readonly changes?: readonly Outdated[]
  /** The notification after a success; default: none. */
  readonly said?: string | ((answer: Answer) => string)
  /** Called after a success, before anything is read again: closes the dialog or opens another page. */
  readonly onDone?: (answer: Answer, given: Given) => unknown
  readonly onError?: (error: Error) => void
}

/** How a change is going. */
export interface ActionState {
  readonly isPending: boolean
  /** Why the last request failed; null: it did not. */
  readonly error: Error | null
  /** Forgets the last request. */
  readonly reset: () => void
}

/** A change of the service that a user requested. */
export type Action<Given = void, Answer = unknown> = UseMutationResult<Answer, Error, Given>

/** A change of the service: sends it, notifies the user, and reads again what it made outdated. */
export function useAction<Given = void, Answer = unknown>(
  options: ActionOptions<Given, Answer>,
): Action<Given, Answer> {
  const { send, changes = [], said, onDone, onError } = options
  return useMutation({
    mutationFn: send,
    onSuccess: async (answer, given) => {
      if (said !== undefined) notifications.show({ message: typeof said === 'string' ? said : said(answer) })
      await onDone?.(answer, given)
    },
    ...(onError ? { onError } : {}),
    onSettled: () => refresh(...changes),
    gcTime: 0, // an answer with a secret stays no longer than the dialog that shows it
  })
}
