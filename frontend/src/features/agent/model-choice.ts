import { useLocalStorage } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import type { ChatRequest, ProviderList } from '../../api/types.ts'
import { providersQuery } from './api.ts'

type ProviderName = NonNullable<ChatRequest['provider']>

/** The chosen provider and model; stored in this browser. */
export interface ModelChoice {
  readonly known: ProviderList | undefined
  /** Undefined: the default of the service. */
  readonly provider: ProviderName | undefined
  /** Empty: the usual model of the provider. */
  readonly model: string
  readonly setProvider: (provider: ProviderName) => void
  readonly setModel: (model: string) => void
}

/** The provider and model that the reader chose last, as far as they can be used. */
export function useModelChoice(): ModelChoice {
  const known = useQuery(providersQuery).data
  const [chosen, setChosen] = useLocalStorage({ key: 'lockhouse.agent.provider', defaultValue: '' })
  const [model, setModel] = useLocalStorage({ key: 'lockhouse.agent.model', defaultValue: '' })
  const usable = known?.providers.find(({ name, configured }) => configured && name === chosen)
  return {
    known,
    provider: usable?.name as ProviderName | undefined, // the names that the server lists are those that it takes
    model: usable || chosen === '' ? model : '',
    setProvider: (provider) => {
      setChosen(provider)
      setModel('')
    },
    setModel,
  }
}
