import { Button, Group, Modal, NativeSelect, Stack, Textarea, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { UseFormReturnType } from '@mantine/form'
import type { Alert, AlertRequest } from '../../../api/types.ts'
import { useRequestForm } from '../../../components/form/use-request-form.ts'
import { Notice } from '../../../components/status/notice.tsx'
import { errorText } from '../../../components/status/states.tsx'
import { alertStrings as strings } from '../../../strings/alerts.ts'
import { common } from '../../../strings/everywhere/common.ts'
import { SecretField, SecretText } from '../secret-field.tsx'
import { type AlertForm, alertSchema, formOf } from './alert-schema.ts'
import { ALERTS_KEY, saveAlert } from './api.ts'

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
  const client = useQueryClient()
  const save = useMutation({
    mutationFn: (request: AlertRequest) => saveAlert(alert, request),
    onSuccess: ({ signing_secret: secret }) => {
      notifications.show({ message: strings.saved })
      if (secret === null) close()
    },
    onSettled: () => client.invalidateQueries({ queryKey: ALERTS_KEY }),
    gcTime: 0, // the secret stays no longer than the dialog
  })
  const close = (): void => {
    save.reset()
    onClose()
  }
  const secret = save.data?.signing_secret ?? null
  const title = alert === undefined ? words.newTitle : words.editTitle(alert.name)
  return (
    <Modal
      opened={opened}
      onClose={close}
      title={secret === null ? title : strings.made.title}
      closeButtonProps={{ 'aria-label': common.close }}
      closeOnClickOutside={false}
      closeOnEscape={secret === null}
    >
      {secret === null ? (
        <AlertFields alert={alert} isBusy={save.isPending} error={save.error} onCancel={close} onSubmit={save.mutate} />
      ) : (
        <Stack gap="sm">
          <SecretText>{strings.made.text}</SecretText>
          <SecretField label={strings.made.secret} value={secret} />
          <Group justify="flex-end">
            <Button onClick={close}>{strings.made.done}</Button>
          </Group>
        </Stack>
      )}
    </Modal>
  )
}

interface AlertFieldsProps {
  readonly alert: Alert | undefined
  readonly isBusy: boolean
  readonly error: unknown
  readonly onCancel: () => void
  readonly onSubmit: (request: AlertRequest) => void
}

function AlertFields({ alert, isBusy, error, onCancel, onSubmit }: AlertFieldsProps) {
  const { form, submit } = useRequestForm({
    initialValues: formOf(alert),
    schema: alertSchema,
    onRequest: onSubmit,
  })
  const field = (name: string) => form.getInputProps(name)
  return (
    <form noValidate onSubmit={submit}>
      <Stack gap="sm">
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
        {error ? (
          <Notice tone="bad" role="alert">
            {errorText(error)}
          </Notice>
        ) : undefined}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onCancel} disabled={isBusy}>
            {words.cancel}
          </Button>
          <Button type="submit" loading={isBusy}>
            {words.submit}
          </Button>
        </Group>
      </Stack>
    </form>
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
