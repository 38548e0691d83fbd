import { useState } from 'react'
import type { ActionState } from '../../api/actions/use-action.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { NoteField } from '../../components/form/note-field.tsx'
import { approvalStrings } from '../../strings/approvals.ts'
import type { Decision } from './api.ts'
import { missingApprovals, type RequestView } from './request-view.ts'

interface DecisionDialogProps {
  readonly view: RequestView
  /** Undefined: no dialog is open. */
  readonly kind: Decision['kind'] | undefined
  readonly action: ActionState
  readonly onClose: () => void
  readonly onDecide: (decision: Decision) => void
}

/** The confirmation dialog of a decision, with its consequences. */
export function DecisionDialog({ view, kind, action, onClose, onDecide }: DecisionDialogProps) {
  const common = { view, action, onClose, onDecide }
  return (
    <>
      <ApproveDialog {...common} opened={kind === 'approve'} />
      <RejectDialog {...common} opened={kind === 'reject'} />
      <WithdrawDialog {...common} opened={kind === 'withdraw'} />
      <OverrideDialog {...common} opened={kind === 'override'} />
    </>
  )
}

interface OneDialogProps {
  readonly view: RequestView
  readonly opened: boolean
  readonly action: ActionState
  readonly onClose: () => void
  readonly onDecide: (decision: Decision) => void
}

function ApproveDialog({ view, onDecide, ...dialog }: OneDialogProps) {
  const strings = approvalStrings.approveDialog
  const [comment, setComment] = useState('')
  const { from_environment: from, to_environment: to, diff } = view
  const missing = missingApprovals(view)
  const replaced = diff.from === null ? [] : [strings.replaces(diff.from.version, to)]
  return (
    <ConfirmDialog
      {...dialog}
      title={strings.title(view.definition_name, view.version)}
      consequences={missing > 1 ? [strings.more(missing - 1, to)] : [strings.text(from, to), ...replaced]}
      confirmLabel={strings.confirm(to)}
      onConfirm={() => onDecide({ kind: 'approve', comment })}
    >
      <NoteField label={strings.comment} help={strings.commentHelp} value={comment} onChange={setComment} />
    </ConfirmDialog>
  )
}

function RejectDialog({ view, onDecide, ...dialog }: OneDialogProps) {
  const strings = approvalStrings.rejectDialog
  const [reason, setReason] = useState('')
  return (
    <ConfirmDialog
      {...dialog}
      title={strings.title(view.definition_name, view.version)}
      consequences={[strings.text(view.from_environment)]}
      confirmLabel={strings.confirm}
      confirmDisabled={reason.trim() === ''}
      destructive
      onConfirm={() => onDecide({ kind: 'reject', reason })}
    >
      <NoteField label={strings.reason} help={strings.reasonHelp} value={reason} onChange={setReason} isRequired />
    </ConfirmDialog>
  )
}

function OverrideDialog({ view, onDecide, ...dialog }: OneDialogProps) {
  const strings = approvalStrings.overrideDialog
  const [reason, setReason] = useState('')
  return (
    <ConfirmDialog
      {...dialog}
      title={strings.title(view.definition_name, view.version)}
      consequences={[strings.text(view.to_environment)]}
      confirmLabel={strings.confirm}
      confirmDisabled={reason.trim() === ''}
      onConfirm={() => onDecide({ kind: 'override', reason })}
    >
      <NoteField label={strings.reason} help={strings.reasonHelp} value={reason} onChange={setReason} isRequired />
    </ConfirmDialog>
  )
}

function WithdrawDialog({ view, onDecide, ...dialog }: OneDialogProps) {
  const strings = approvalStrings.withdrawDialog
  return (
    <ConfirmDialog
      {...dialog}
      title={strings.title(view.definition_name, view.version)}
      consequences={[strings.text(view.from_environment)]}
      confirmLabel={strings.confirm}
      destructive
      onConfirm={() => onDecide({ kind: 'withdraw' })}
    />
  )
}
