import { Button, Modal } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { Loading } from '../../components/status/states.tsx'
import { common } from '../../strings/everywhere/common.ts'
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
      <Modal
        opened={open === 'register'}
        onClose={close}
        title={words.title}
        closeButtonProps={{ 'aria-label': common.close }}
      >
        <Suspense fallback={<Loading lines={3} />}>
          <RegisterForm onClose={close} />
        </Suspense>
      </Modal>
    </>
  )
}
