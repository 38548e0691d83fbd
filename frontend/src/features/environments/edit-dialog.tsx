import { lazy } from 'react'
import type { EnvironmentSettings } from '../../api/types.ts'
import { FormDialog } from '../../components/form/form-dialog.tsx'
import { environmentForm, environments } from '../../strings/environments.ts'

const EnvironmentEditor = lazy(async () => ({ default: (await import('./editor.tsx')).EnvironmentEditor }))

interface EditDialogProps {
  /** The settings as they are now; undefined: closed. */
  readonly current: EnvironmentSettings | undefined
  readonly onClose: () => void
}

/** A dialog with the form of an environment; Escape does not close it, because that would lose input. */
export function EditDialog({ current, onClose }: EditDialogProps) {
  return (
    <FormDialog
      opened={current !== undefined}
      onClose={onClose}
      title={current && environmentForm.title(environments[current.environment])}
      closeOnEscape={false}
      size="44rem"
    >
      {current && <EnvironmentEditor current={current} onClose={onClose} />}
    </FormDialog>
  )
}
