import { Button, Skeleton, Title, VisuallyHidden } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import type { ReactNode } from 'react'
import { ApiError, isMissing, isUnreachable } from '../../api/api-error.ts'
import type { Role } from '../../api/types.ts'
import { common, states } from '../../strings/everywhere/common.ts'
import { shell } from '../../strings/everywhere/shell.ts'
import classes from './states.module.css'

/** Placeholder lines while content loads; hidden for the first 150 ms, so that fast responses do not flicker. */
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
  /** Why the list is empty, and how to add an item. */
  readonly detail?: ReactNode
  readonly action?: ReactNode
}

/** Shown when a list or page is empty. */
export function Empty({ title, detail, action }: EmptyProps) {
  return (
    <div className={classes.state}>
      <Title order={2}>{title}</Title>
      {detail && <p className={classes.detail}>{detail}</p>}
      {action}
    </div>
  )
}

/** An error with the message of the service and a retry button. */
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

/** Shown when the caller's role does not allow access. */
export function Forbidden({ role, detail }: { readonly role?: Role; readonly detail?: string }) {
  return (
    <div className={classes.state}>
      <Title order={2}>{states.forbiddenTitle}</Title>
      <p className={classes.detail}>{role ? states.forbidden(shell.roles[role]) : detail}</p>
    </div>
  )
}

/** The message of an error, for one line of text. */
export function errorText(error: unknown): string {
  if (error instanceof ApiError) return error.detail
  return error instanceof Error ? error.message : String(error)
}
