import { Button, Skeleton, Title, VisuallyHidden } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import type { ReactNode } from 'react'
import { ApiError, isUnreachable } from '../api/api-error.ts'
import type { Role } from '../api/types.ts'
import { common, states } from '../strings/common.ts'
import { shell } from '../strings/shell.ts'
import classes from './states.module.css'

/** Grey lines where content will be; nothing for the first 150 ms, so that what comes at once does not flicker. */
export function Loading({ lines = 6, label = common.loading }: { readonly lines?: number; readonly label?: string }) {
  const [shown] = useDebouncedValue(true, 150)
  const widths = Array.from({ length: lines }, (_, index) => `${[92, 78, 85, 64, 72, 88][index % 6] ?? 80}%`)
  return (
    <div className={classes.loading} role="status" aria-busy="true">
      <VisuallyHidden>{label}</VisuallyHidden>
      {widths.map((width, index) => (
        <Skeleton key={`${index}-${width}`} height={14} width={width} visible={shown} />
      ))}
    </div>
  )
}

export interface EmptyProps {
  readonly title: string
  /** Why it is empty, and what fills it. */
  readonly detail?: ReactNode
  readonly action?: ReactNode
}

/** What stands where there is nothing to show. */
export function Empty({ title, detail, action }: EmptyProps) {
  return (
    <div className={classes.state}>
      <Title order={2}>{title}</Title>
      {detail && <p className={classes.detail}>{detail}</p>}
      {action}
    </div>
  )
}

/** What went wrong, in the service's words, with a button that tries again. */
export function ErrorState({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) {
  if (error instanceof ApiError && error.status === 403) return <Forbidden detail={error.detail} />
  const unreachable = isUnreachable(error)
  const requestId = error instanceof ApiError ? error.requestId : undefined
  return (
    <div className={classes.state} role="alert">
      <Title order={2}>{errorTitle(error)}</Title>
      <p className={classes.detail}>{unreachable ? states.unreachable : errorText(error)}</p>
      {requestId !== undefined && <p className={classes.request}>{states.requestId(requestId)}</p>}
      {onRetry && !isMissing(error) && (
        <Button variant="default" onClick={onRetry}>
          {common.retry}
        </Button>
      )}
    </div>
  )
}

function errorTitle(error: unknown): string {
  if (isUnreachable(error)) return states.unreachableTitle
  return isMissing(error) ? states.missingTitle : states.errorTitle
}

/** What is not there will not be there for being asked for again. */
function isMissing(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404
}

/** What stands where the caller's role does not reach. */
export function Forbidden({ role, detail }: { readonly role?: Role; readonly detail?: string }) {
  return (
    <div className={classes.state}>
      <Title order={2}>{states.forbiddenTitle}</Title>
      <p className={classes.detail}>{role ? states.forbidden(shell.roles[role]) : detail}</p>
    </div>
  )
}

/** An error in words, for a line beside what failed. */
export function errorText(error: unknown): string {
  if (error instanceof ApiError) return error.detail
  return error instanceof Error ? error.message : String(error)
}
