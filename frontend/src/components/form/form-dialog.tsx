import { Modal } from '@mantine/core'
import { type ReactNode, Suspense } from 'react'
import { Loading } from '../status/states.tsx'

interface FormDialogProps {
  readonly opened: boolean
  readonly onClose: () => void
  readonly title: string | undefined
  readonly size?: string
  /** Whether Escape closes it; default: yes. */
  readonly closeOnEscape?: boolean
  readonly children: ReactNode
}

/** A dialog with a form, which may be loaded when it is opened. A click outside does not close it, because input would be lost. */
export function FormDialog({ title, children, ...modal }: FormDialogProps) {
  return (
    <Modal {...modal} title={title} closeOnClickOutside={false}>
      <Suspense fallback={<Loading lines={3} />}>{children}</Suspense>
    </Modal>
  )
}
