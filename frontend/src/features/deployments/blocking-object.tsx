import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { minRoleIn } from '../../../../src/domain/environments.ts'
import { useCan } from '../../api/session.ts'
import type { DeploymentPlan, Pipeline } from '../../api/types.ts'
import { deploymentPlanStrings } from '../../strings/deployments.ts'
import { pipelineQuery } from '../pipelines/api.ts'
import { StopDialog } from '../pipelines/pipeline-actions.tsx'
import { isAlive } from '../pipelines/pipeline-life.ts'

const words = deploymentPlanStrings.blocked
const STOPPING_POLL_MS = 1000

interface BlockingObjectProps {
  readonly object: NonNullable<DeploymentPlan['problems'][number]['blocked_by']>
  /** Called when the object no longer blocks. */
  readonly onFree: () => void
}

/** A link to the object that blocks a deployment; a pipeline can be stopped here. */
export function BlockingObject({ object: { type, id }, onFree }: BlockingObjectProps) {
  if (type === 'table') {
    return (
      <Link to="/tables/$table" params={{ table: id }}>
        {words.table(id)}
      </Link>
    )
  }
  if (type === 'definition') {
    return (
      <Link to="/definitions/$id" params={{ id }} search={{ tab: 'environments' }}>
        {words.definition}
      </Link>
    )
  }
  return <BlockingPipeline id={id} onFree={onFree} />
}

function BlockingPipeline({ id, onFree }: { readonly id: string; readonly onFree: () => void }) {
  const { data: pipeline } = useQuery({
    ...pipelineQuery(id),
    refetchInterval: ({ state: { data } }) => (data && isStopping(data) ? STOPPING_POLL_MS : false),
  })
  return (
    <>
      <Link to="/pipelines/$id" params={{ id }}>
        {words.pipeline}
      </Link>
      {pipeline && <StopButton pipeline={pipeline} onFree={onFree} />}
    </>
  )
}

function isStopping(pipeline: Pipeline): boolean {
  return isAlive(pipeline) && pipeline.desired_state === 'stopped'
}

/** Stops a pipeline, and reports when it has stopped. */
function StopButton({ pipeline, onFree }: { readonly pipeline: Pipeline; readonly onFree: () => void }) {
  const [isAsking, setAsking] = useState(false)
  const [wasAsked, setAsked] = useState(false)
  const { environment } = pipeline
  const mayStop = useCan(environment ? minRoleIn(environment) : 'DataEngineer')
  const isStopped = !isAlive(pipeline)
  useEffect(() => {
    if (wasAsked && isStopped) onFree()
    // oxlint-disable-next-line react/exhaustive-deps -- once per stop, not per new callback
  }, [wasAsked, isStopped])
  if (!mayStop || isStopped) return undefined
  return (
    <>
      <Button
        variant="default"
        size="compact-xs"
        loading={isStopping(pipeline)}
        onClick={() => {
          setAsked(true)
          setAsking(true)
        }}
      >
        {words.stop}
      </Button>
      <StopDialog pipeline={pipeline} opened={isAsking} onClose={() => setAsking(false)} />
    </>
  )
}
