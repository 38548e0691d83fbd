import { Button, Group, Stack } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { hasCode } from '../../api/api-error.ts'
import type { Policy, PolicyPreview, PolicyRequest } from '../../api/types.ts'
import { useAction } from '../../api/actions/use-action.ts'
import { useRequestForm } from '../../components/form/use-request-form.ts'
import { ErrorNotice } from '../../components/status/error-notice.tsx'
import { Notice } from '../../components/status/notice.tsx'
import { formatBytes, formatCount, formatPlural } from '../../strings/everywhere/units.ts'
import { common } from '../../strings/everywhere/common.ts'
import { policyForm as words } from '../../strings/policies.ts'
import { createPolicy, previewPolicy, updatePolicy } from './api.ts'
import { emptyForm, policySchema, toForm } from './form.ts'
import classes from './policies.module.css'
import { PolicyFields } from './policy-form.tsx'
import { RunsTable } from './runs-table.tsx'

interface EditorProps {
  /** The policy that is changed, as it was when the form was opened; undefined: a new one. */
  readonly base: Policy | undefined
  /** Reads the policy again, after someone else changed it. */
  readonly onReload?: () => void
}

/** The form of a policy, then what it would do, then the button that saves exactly that. */
export function PolicyEditor({ base: current, onReload }: EditorProps) {
  const [base] = useState(current) // changes by others show when it is saved
  const preview = useAction({
    // A stored policy is replaced by name, so that a new name does not make it compete with itself.
    send: (request: PolicyRequest) => previewPolicy(base === undefined ? request : { ...request, name: base.name }),
  })
  const { form, submit } = useRequestForm({
    initialValues: base === undefined ? emptyForm() : toForm(base),
    schema: policySchema,
    onRequest: (request) => preview.mutate(request),
  })
  if (preview.data && preview.variables) {
    return (
      <SaveStep
        base={base}
        request={preview.variables}
        preview={preview.data}
        onBack={preview.reset}
        {...(onReload ? { onReload } : {})}
      />
    )
  }
  return (
    <form className={classes.form} noValidate onSubmit={submit}>
      <PolicyFields form={form} />
      <ErrorNotice error={preview.error} />
      <Group gap="xs">
        <Button type="submit" loading={preview.isPending}>
          {words.preview}
        </Button>
        <CancelLink base={base} />
      </Group>
    </form>
  )
}

function CancelLink({ base }: Pick<EditorProps, 'base'>) {
  return (
    <Button
      variant="default"
      renderRoot={(props) =>
        base === undefined ? (
          <Link {...props} to="/policies" />
        ) : (
          <Link {...props} to="/policies/$id" params={{ id: base.id }} />
        )
      }
    >
      {common.cancel}
    </Button>
  )
}

/** The policies that govern matching tables, for a sentence. */
function policyNames({ governed_elsewhere_by: governors }: PolicyPreview): string {
  return governors.map(({ policy }) => `“${policy}”`).join(', ')
}

interface SaveStepProps extends EditorProps {
  readonly request: PolicyRequest
  readonly preview: PolicyPreview
  readonly onBack: () => void
}

function SaveStep({ base, request, preview, onBack, onReload }: SaveStepProps) {
  const navigate = useNavigate()
  const save = useAction({
    send: () => (base === undefined ? createPolicy(request) : updatePolicy(base, request)),
    changes: ['policies'],
    onDone: ({ id }) => navigate({ to: '/policies/$id', params: { id } }),
  })
  const isConflict = hasCode(save.error, 'PRECONDITION_FAILED')
  return (
    <Stack gap="sm" className={classes.preview ?? ''}>
      <Notice tone="info">{words.previewLead}</Notice>
      <PreviewSummary preview={preview} />
      <RunsTable preview={preview} />
      {isConflict && (
        <Notice tone="warn" title={words.conflict.title} role="alert">
          {words.conflict.text}
        </Notice>
      )}
      {!isConflict && <ErrorNotice error={save.error} title={words.failed} />}
      <Group gap="xs">
        {isConflict && onReload ? (
          <Button onClick={onReload}>{words.conflict.reload}</Button>
        ) : (
          <Button loading={save.isPending} onClick={() => save.mutate()}>
            {base === undefined ? words.create : words.save}
          </Button>
        )}
        <Button variant="default" disabled={save.isPending} onClick={onBack}>
          {words.back}
        </Button>
      </Group>
    </Stack>
  )
}

function PreviewSummary({ preview }: { readonly preview: PolicyPreview }) {
  const { matched_count: matched, governed_elsewhere_count: elsewhere, runs_count: runs } = preview
  const { mean_score: before, projected_mean_score: after } = preview
  const unknown = preview.runs.filter(({ planned_bytes: bytes }) => bytes === null).length
  if (matched === 0) return <Notice tone="warn">{words.matchesNone}</Notice>
  const sentences = [
    words.matched(formatPlural(matched, 'table')),
    elsewhere > 0 && words.elsewhere(formatPlural(elsewhere, 'table is', 'tables are'), policyNames(preview)),
    words.planned(formatPlural(runs, 'run'), formatBytes(preview.planned_bytes)),
    unknown > 0 && words.unknownBytes(formatPlural(unknown, 'run')),
    before !== null && after !== null && words.health(formatCount(before), formatCount(after)),
  ]
  return <p>{sentences.filter((sentence) => sentence !== false).join(' ')}</p>
}
