import { Button, Modal } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { lazy, Suspense } from 'react'
import { Loading } from '../../components/status/states.tsx'
import { common } from '../../strings/shared/common.ts'
import { register as words } from '../../strings/table-actions.ts'

const RegisterForm = lazy(async () => ({ default: (await import('./register-form.tsx')).RegisterForm }))

/** The button and dialog that add a table in storage to the catalog. */
export function RegisterDialog() {
  const [opened, { open, close }] = useDisclosure(false)
  return (
    <>
      <Button variant="default" onClick={open}>
        {words.open}
      </Button>
      <Modal opened={opened} onClose={close} title={words.title} closeButtonProps={{ 'aria-label': common.close }}>
        <Suspense fallback={<Loading lines={3} />}>
          <RegisterForm onClose={close} />
        </Suspense>
      </Modal>
    </>
  )
}
