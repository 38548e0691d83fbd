import { Button } from '@mantine/core'
import { lazy } from 'react'
import { FormDialog } from '../../components/form/form-dialog.tsx'
import { register as words } from '../../strings/table-actions.ts'
import { useDialog } from '../../use-dialog.ts'

const DIALOGS = ['register'] as const

const RegisterForm = lazy(async () => ({ default: (await import('./register-form.tsx')).RegisterForm }))

/** The button and dialog that add a table in storage to the catalog. */
export function RegisterDialog() {
  const [open, setOpen] = useDialog(DIALOGS)
  const close = (): void => setOpen(undefined)
  return (
    <>
      <Button variant="default" onClick={() => setOpen('register')}>
        {words.open}
      </Button>
      <FormDialog opened={open === 'register'} onClose={close} title={words.title}>
        <RegisterForm onClose={close} />
      </FormDialog>
    </>
  )
}
