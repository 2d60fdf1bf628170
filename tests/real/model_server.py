"""llama.cpp's server with a very small model, on loopback. Run it with the Python that has xllamacpp:

    python model_server.py MODEL.gguf

It prints its address when it answers.
"""

import sys
import time

import xllamacpp


def main(model: str) -> None:
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_ctx = 8192
    params.n_predict = 256
    params.n_parallel = 2
    params.cpuparams.n_threads = 2
    params.port = 0
    params.use_jinja = True
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    main(sys.argv[1])
