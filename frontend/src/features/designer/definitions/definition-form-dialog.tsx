import { Modal } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { Loading } from '../../../components/status/states.tsx'
import { common } from '../../../strings/everywhere/common.ts'
import type { DefinitionFormProps } from './definition-form.tsx'

const DefinitionForm = lazy(async () => ({ default: (await import('./definition-form.tsx')).DefinitionForm }))

interface FormDialogProps extends DefinitionFormProps {
  readonly opened: boolean
  readonly title: string
}

/** A dialog that asks for the name and description of a definition. */
export function DefinitionFormDialog({ opened, title, ...form }: FormDialogProps) {
  return (
    <Modal opened={opened} onClose={form.onClose} title={title} closeButtonProps={{ 'aria-label': common.close }}>
      <Suspense fallback={<Loading lines={3} />}>
        <DefinitionForm {...form} />
      </Suspense>
    </Modal>
  )
}
