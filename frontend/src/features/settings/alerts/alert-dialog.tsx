import { Button, Group, NativeSelect, Stack, Textarea, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import type { Alert, AlertRequest } from '../../../api/types.ts'
import { type ActionState, useAction } from '../../../api/actions/use-action.ts'
import { DialogForm } from '../../../components/form/dialog-form.tsx'
import { FormDialog } from '../../../components/form/form-dialog.tsx'
import { useRequestForm } from '../../../components/form/use-request-form.ts'
import { alertStrings as strings } from '../../../strings/alerts.ts'
import { SecretField, SecretText } from '../secret-field.tsx'
import { type AlertForm, alertSchema, formOf } from './alert-schema.ts'
import { saveAlert } from './api.ts'

const words = strings.form
const CHANNELS = Object.entries(strings.channels).map(([value, label]) => ({ value, label }))

interface AlertDialogProps {
  readonly opened: boolean
  /** The alert that is changed; undefined: a new one. */
  readonly alert: Alert | undefined
  readonly onClose: () => void
}

/** Creates or changes an alert, and shows a new signing secret, once. */
export function AlertDialog({ opened, alert, onClose }: AlertDialogProps) {
  const save = useAction({
    send: (request: AlertRequest) => saveAlert(alert, request),
    changes: ['alerts'],
    said: strings.saved,
    onDone: ({ signing_secret: secret }) => {
      if (secret === null) close()
    },
  })
  const close = (): void => {
    save.reset()
    onClose()
  }
  const secret = save.data?.signing_secret ?? null
  const title = alert === undefined ? words.newTitle : words.editTitle(alert.name)
  return (
    <FormDialog
      opened={opened}
      onClose={close}
      title={secret === null ? title : strings.made.title}
      closeOnEscape={secret === null}
    >
      {secret === null ? (
        <AlertFields alert={alert} action={save} onCancel={close} onSubmit={save.mutate} />
      ) : (
        <Stack gap="sm">
          <SecretText>{strings.made.text}</SecretText>
          <SecretField label={strings.made.secret} value={secret} />
          <Group justify="flex-end">
            <Button onClick={close}>{strings.made.done}</Button>
          </Group>
        </Stack>
      )}
    </FormDialog>
  )
}

interface AlertFieldsProps {
  readonly alert: Alert | undefined
  readonly action: ActionState
  readonly onCancel: () => void
  readonly onSubmit: (request: AlertRequest) => void
}

function AlertFields({ alert, action, onCancel, onSubmit }: AlertFieldsProps) {
  const { form, submit } = useRequestForm({
    initialValues: formOf(alert),
    schema: alertSchema,
    onRequest: onSubmit,
  })
  const field = (name: string) => form.getInputProps(name)
  return (
    <DialogForm action={action} submitLabel={words.submit} onSubmit={submit} onCancel={onCancel}>
      <TextInput label={words.name} required data-autofocus {...field('name')} />
      <Textarea
        label={words.events}
        description={words.eventsHelp}
        autosize
        minRows={3}
        required
        {...field('events')}
      />
      <Textarea label={words.tables} description={words.tablesHelp} autosize {...field('tables')} />
      <Textarea label={words.pipelines} description={words.pipelinesHelp} autosize {...field('pipelines')} />
      <TextInput label={words.lasts} description={words.lastsHelp} {...field('for')} />
      <TextInput label={words.cooldown} description={words.cooldownHelp} {...field('cooldown')} />
      <NativeSelect label={words.channel} data={CHANNELS} {...field('channel.type')} />
      <ChannelFields form={form} />
    </DialogForm>
  )
}

function ChannelFields({ form }: { readonly form: UseFormReturnType<AlertForm> }) {
  const { type } = form.values.channel
  if (type === 'email') {
    const problem = Object.entries(form.errors).find(([path]) => path.startsWith('channel.to'))?.[1]
    return (
      <Textarea
        label={words.to}
        description={words.toHelp}
        autosize
        required
        {...form.getInputProps('channel.to')}
        error={problem}
      />
    )
  }
  return (
    <>
      {type === 'pagerduty' && (
        <TextInput
          label={words.routingKey}
          description={words.routingKeyHelp}
          required
          autoComplete="off"
          spellCheck={false}
          {...form.getInputProps('channel.routing_key')}
        />
      )}
      <TextInput
        label={words.url}
        description={type === 'pagerduty' ? words.pagerdutyUrlHelp : words.urlHelp}
        required
        autoComplete="off"
        spellCheck={false}
        {...form.getInputProps('channel.url')}
      />
    </>
  )
}
