import { Button, NumberInput, Text, Title } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { refresh } from '../../../api/actions/refresh.ts'
import { useAction } from '../../../api/actions/use-action.ts'
import { MissingSink } from '../../../components/sink-table/missing-sink.tsx'
import { Notice } from '../../../components/status/notice.tsx'
import { errorText, Loading } from '../../../components/status/states.tsx'
import { rehearsalStrings as words } from '../../../strings/pipelines/rehearsal.ts'
import { rehearse } from '../api.ts'
import type { RequestView } from '../request-view.ts'
import classes from '../approvals.module.css'
import own from './deployment.module.css'
import { RehearsalResult } from './rehearsal-result.tsx'

const BATCHES = { min: 1, max: 20, first: 3 } as const

/** Runs the requested version over real rows, and shows how its result differs from that of the version there. */
export function RehearsalSection({ request }: { readonly request: RequestView }) {
  const [batches, setBatches] = useState<number | string>(BATCHES.first)
  const running = useRef<AbortController>(undefined)
  useEffect(() => () => running.current?.abort(), [])
  const { mutate, data, error, isPending, reset } = useAction({
    send: (count: number) => {
      running.current = new AbortController()
      return rehearse(request.id, count, running.current.signal)
    },
  })
  const isValid =
    typeof batches === 'number' && Number.isInteger(batches) && batches >= BATCHES.min && batches <= BATCHES.max
  const cancel = (): void => {
    running.current?.abort()
    reset()
  }
  return (
    <section className={classes.section} aria-labelledby="approval-rehearsal">
      <Title order={2} id="approval-rehearsal">
        {words.title}
      </Title>
      <Text size="sm">{words.lead}</Text>
      <form
        className={own.form}
        onSubmit={(event) => {
          event.preventDefault()
          if (isValid && !isPending) mutate(batches)
        }}
      >
        <NumberInput
          label={words.batches}
          value={batches}
          onChange={setBatches}
          min={BATCHES.min}
          max={BATCHES.max}
          allowDecimal={false}
          error={isValid ? undefined : words.invalid}
          w="12rem"
        />
        <Button type="submit" variant="default" loading={isPending} disabled={!isValid}>
          {data ? words.again : words.start}
        </Button>
        {isPending && (
          <Button variant="default" onClick={cancel}>
            {words.cancel}
          </Button>
        )}
      </form>
      {isPending && <Loading lines={3} label={words.running} />}
      {error && (
        <Notice tone="bad">
          {errorText(error)}
          <MissingSinkThere request={request} onMade={reset} />
        </Notice>
      )}
      {data && !isPending && <RehearsalResult result={data} />}
    </section>
  )
}

/** The offer to create the sink of the requested version in its target environment. */
function MissingSinkThere({ request, onMade }: { readonly request: RequestView; readonly onMade: () => void }) {
  const { definition_id: definitionId, version_id: versionId, to_environment: environment } = request
  if (environment === 'retired') return undefined
  return (
    <MissingSink
      place={{ definitionId, versionId, environment }}
      onMade={() => {
        void refresh(['approvals', 'request', request.id])
        onMade()
      }}
    />
  )
}
