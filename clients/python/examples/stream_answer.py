"""Asks an agent and prints the answer while it is made: AGENT_SERVICE_URL, AGENT_SERVICE_KEY, AGENT_ID."""

import os
import sys

from agent_service import AgentService, ApiError


def main() -> None:
    question = " ".join(sys.argv[1:]) or "How much did we sell last month?"
    with AgentService(os.environ["AGENT_SERVICE_URL"], api_key=os.environ["AGENT_SERVICE_KEY"]) as service:
        try:
            printed = 0
            for event in service.stream_answer(os.environ["AGENT_ID"], question):
                # The content is the whole text so far, and empty again where a further attempt begins.
                print(event.content[printed:], end="", flush=True)
                printed = len(event.content)
                if event.message:
                    print(f"\n{event.message.credits_consumed} credits")
        except ApiError as error:
            sys.exit(f"{error.code}: {error.remedy}")


if __name__ == "__main__":
    main()
