import { lazy } from 'react'
import { FormDialog } from '../../../components/form/form-dialog.tsx'
import type { DefinitionFormProps } from './definition-form.tsx'

const DefinitionForm = lazy(async () => ({ default: (await import('./definition-form.tsx')).DefinitionForm }))

interface DefinitionFormDialogProps extends DefinitionFormProps {
  readonly opened: boolean
  readonly title: string
}

/** A dialog that asks for the name and description of a definition. */
export function DefinitionFormDialog({ opened, title, ...form }: DefinitionFormDialogProps) {
  return (
    <FormDialog opened={opened} onClose={form.onClose} title={title}>
      <DefinitionForm {...form} />
    </FormDialog>
  )
}
