import { Button, Stack } from '@mantine/core'
import type { UseMutationResult } from '@tanstack/react-query'
import { useState } from 'react'
import { isWithoutEffect, OPERATIONS } from '../../../../../src/domain/tables/operations.ts'
import { hasCode } from '../../../api/api-error.ts'
import { Notice } from '../../../components/status/notice.tsx'
import { errorText } from '../../../components/status/states.tsx'
import { operations } from '../../../strings/everywhere/common.ts'
import { actions as words } from '../../../strings/table-actions.ts'
import type { applyPlan, previewAction } from '../api.ts'
import classes from './action-drawer.module.css'
import { parseDetails } from './action-figures.ts'
import type { ActionKind } from './action-specs.ts'
import { AffectedList } from './affected-list.tsx'
import { affectedPipelines, neededFor } from './affected-pipelines.ts'
import { PreviewView } from './preview-view.tsx'

/** A plan, with the part of the request that accepts its consequences. */
export interface PlanToApply {
  readonly planId: string
  readonly accepted: { readonly accept_pipelines?: readonly string[] }
}

export interface PreviewStepProps {
  readonly kind: ActionKind
  readonly plan: Awaited<ReturnType<typeof previewAction>>
  readonly isPreviewing: boolean
  readonly apply: UseMutationResult<Awaited<ReturnType<typeof applyPlan>>, Error, PlanToApply>
  readonly onBack: () => void
  readonly onPreviewAgain: () => void
}

/** The effect of an action, and the button that applies exactly that. */
export function PreviewStep({ kind, plan, isPreviewing, apply, onBack, onPreviewAgain }: PreviewStepProps) {
  const details = parseDetails(plan.details_json)
  const nothing = isWithoutEffect(kind, details)
  const stale = hasCode(apply.error, 'PLAN_STALE')
  const [isAccepted, setAccepted] = useState(false)
  const affected = affectedPipelines(details)
  const needed = neededFor(affected)
  const accepted = isAccepted ? { accept_pipelines: affected.map(({ id }) => id) } : {}
  return (
    <Stack gap="sm">
      <PreviewView kind={kind} details={details} nothing={nothing} />
      <AffectedList affected={affected} accepted={isAccepted} onAccept={setAccepted} />
      {apply.isError && (
        <Notice tone={stale ? 'warn' : 'bad'} role="alert">
          {stale ? words.stale : errorText(apply.error)}
        </Notice>
      )}
      <div className={classes.buttons}>
        <Button variant="default" onClick={onBack} disabled={apply.isPending}>
          {words.back}
        </Button>
        {stale || needed === 'stop' ? (
          <Button onClick={onPreviewAgain} loading={isPreviewing}>
            {words.previewAgain}
          </Button>
        ) : (
          !nothing && (
            <Button
              loading={apply.isPending}
              disabled={needed === 'accept' && !isAccepted}
              onClick={() => plan.plan_id !== undefined && apply.mutate({ planId: plan.plan_id, accepted })}
              {...(OPERATIONS[kind].risk === 'destructive' ? { color: 'red.8' } : {})}
            >
              {operations.names[kind] ?? kind}
            </Button>
          )
        )}
      </div>
    </Stack>
  )
}
