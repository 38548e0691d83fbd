import { useCan } from '../../api/session.ts'
import { PlusIcon } from '../../components/icons.tsx'
import type { CommandSource } from '../../navigation.ts'
import { alertStrings } from '../../strings/alerts.ts'
import { grantStrings, tokenStrings } from '../../strings/settings.ts'

/** A new alert, a new grant and a new token, for leads. */
export const useSettingsCommands: CommandSource = () => {
  const isLead = useCan('LeadDataEngineer')
  return isLead ? FOR_LEADS : NOTHING
}

const NOTHING = { here: [], anywhere: [] }

const FOR_LEADS = {
  here: [],
  anywhere: [
    { id: 'alert', label: `${alertStrings.create} …`, icon: PlusIcon, to: '/settings/alerts?action=new' },
    { id: 'grant', label: `${grantStrings.create} …`, icon: PlusIcon, to: '/settings/grants?action=new' },
    { id: 'token', label: `${tokenStrings.create} …`, icon: PlusIcon, to: '/settings/tokens?action=new' },
  ],
}
