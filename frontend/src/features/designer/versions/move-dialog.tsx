import type { VersionSummary } from '../../../api/types.ts'
import { useAction } from '../../../api/actions/use-action.ts'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { definitionPageStrings as words } from '../../../strings/pipelines/designer.ts'
import { moveVersion } from '../api.ts'
import type { Move } from '../board.ts'

interface MoveDialogProps {
  readonly version: VersionSummary
  readonly move: Move
  /** Number of the newest version where it goes; undefined when there is none. */
  readonly newestThere: number | undefined
  /** Pipelines that run it. */
  readonly running: number
  readonly onClose: () => void
}

/** Confirms the move of a version, with its consequences. */
export function MoveDialog({ version, move, newestThere, running, onClose }: MoveDialogProps) {
  const { transition, step } = move
  const { to } = step
  const { moved, requested } = words.done
  const moving = useAction({
    send: () => moveVersion(version, transition),
    changes: ['definitions'],
    said: ({ status }) => (status === 202 ? requested(version.version) : moved(version.version, to)),
    onDone: onClose,
  })
  const { title, label } = wordsOf(version, move, to)
  return (
    <ConfirmDialog
      opened
      onClose={onClose}
      title={title}
      consequences={consequencesOf(version, move, { to, newestThere, running })}
      confirmLabel={label}
      destructive={transition === 'retire'}
      action={moving}
      onConfirm={() => moving.mutate()}
    />
  )
}

function wordsOf({ version }: VersionSummary, { transition, step }: Move, to: string) {
  if (transition === 'demote') return { title: words.confirm.demoteTitle(version), label: words.moves.demote }
  if (transition === 'retire') return { title: words.confirm.retireTitle(version), label: words.moves.retire }
  return step.kind === 'approval'
    ? { title: words.confirm.requestTitle(version, to), label: words.moves.request(to) }
    : { title: words.confirm.promoteTitle(version, to), label: words.moves.promote(to) }
}

interface Surroundings {
  readonly to: string
  readonly newestThere: number | undefined
  readonly running: number
}

function consequencesOf(
  { version, environment }: VersionSummary,
  { transition, step }: Move,
  { to, newestThere, running }: Surroundings,
): string[] {
  const { confirm } = words
  const isApproval = step.kind === 'approval'
  return [
    isApproval ? confirm.request(version, environment) : confirm.direct(version, to),
    ...(isApproval ? [confirm.approvedContent] : []),
    ...(step.to === 'uat' ? [confirm.locksUat] : []),
    ...(transition === 'promote' && newestThere !== undefined ? [confirm.besides(newestThere, to)] : []),
    ...(transition === 'demote' ? [confirm.demote] : []),
    ...(transition === 'retire' ? [confirm.retire] : []),
    running > 0 ? confirm.running(running) : confirm.nothingStarts,
  ]
}
