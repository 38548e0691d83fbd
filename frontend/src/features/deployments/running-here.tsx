import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { RunEnvironment } from '../../../../src/domain/environments.ts'
import type { Deployment } from '../../api/types.ts'
import { deploymentStrings } from '../../strings/deployments.ts'
import { boardQuery } from '../../api/definitions.ts'
import { environmentDeploymentsQuery, MAX_SHOWN } from './api.ts'
import { DeploymentState } from './deployment-state.tsx'
import classes from './deployments.module.css'

const words = deploymentStrings.here

/** The definitions that have a version in an environment, with the state of their deployments. */
export function RunningHere({ environment }: { readonly environment: RunEnvironment }) {
  const { data } = useQuery(environmentDeploymentsQuery(environment))
  const definitions = useInfiniteQuery(boardQuery).data?.pages.flatMap((page) => page.definitions)
  if (data === undefined) return undefined
  if (data.length === 0) return <p className={classes.dimmed}>{words.nothing}</p>
  const nameOf = ({ definition_id: id }: Deployment): string => definitions?.find((one) => one.id === id)?.name ?? id
  return (
    <>
      <ul className={classes.here}>
        {data.map((deployment) => (
          <li key={deployment.definition_id}>
            <Link to="/definitions/$id" params={{ id: deployment.definition_id }} search={{ tab: 'environments' }}>
              {nameOf(deployment)}
            </Link>
            <DeploymentState state={deployment.state} />
          </li>
        ))}
      </ul>
      {data.length >= MAX_SHOWN && <p className={classes.dimmed}>{words.more}</p>}
    </>
  )
}
