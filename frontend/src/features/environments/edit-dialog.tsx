import { Modal } from '@mantine/core'
import { lazy, Suspense } from 'react'
import type { EnvironmentSettings } from '../../api/types.ts'
import { Loading } from '../../components/status/states.tsx'
import { common } from '../../strings/everywhere/common.ts'
import { environmentForm, environments } from '../../strings/environments.ts'

const EnvironmentEditor = lazy(async () => ({ default: (await import('./editor.tsx')).EnvironmentEditor }))

interface EditDialogProps {
  /** The settings as they are now; undefined: closed. */
  readonly current: EnvironmentSettings | undefined
  readonly onClose: () => void
}

/** A dialog with the form of an environment; a click outside or Escape does not close it, because that would lose input. */
export function EditDialog({ current, onClose }: EditDialogProps) {
  return (
    <Modal
      opened={current !== undefined}
      onClose={onClose}
      title={current && environmentForm.title(environments[current.environment])}
      closeButtonProps={{ 'aria-label': common.close }}
      closeOnClickOutside={false}
      closeOnEscape={false}
      size="44rem"
    >
      {current && (
        <Suspense fallback={<Loading />}>
          <EnvironmentEditor current={current} onClose={onClose} />
        </Suspense>
      )}
    </Modal>
  )
}
